#include "src/construct/teacher.h"

#include <string.h>

norma_status norma_teacher_create(int64_t width, norma_network **out)
{
    norma_network *network = NULL;
    norma_status status = norma_network_create(2, &network);
    NORMA_GOTO(status, status);
    for (int l = 0; l < 2; l++) {
        norma_layer *layer = &network->layers[l];
        layer->kind = NORMA_LAYER_LINEAR;
        layer->n_channels_in = width;
        layer->n_channels_out = l == 0 ? width : 1;
    }
    network->layers[0].activation.kind = NORMA_ACTIVATION_RELU;
    network->input = (norma_shape){width, 1, 1};
    NORMA_GOTO(status, norma_network_infer_shapes(network));
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

norma_status norma_teacher_allocate(norma_network *teacher)
{
    NORMA_TRY(norma_network_allocate(teacher));
    for (int64_t i = 0; i < teacher->layers[1].n_channels_in; i++)
        teacher->layers[1].weight[i] = 1;
    return NORMA_OK;
}

static norma_status check_student(int64_t width, const norma_network *student)
{
    const norma_layer *layer = &student->layers[0];
    norma_activation_kind act = layer->activation.kind;
    if (student->n_layers != 1 || layer->kind != NORMA_LAYER_LINEAR ||
        layer->pool != NORMA_POOL_NONE ||
        (act != NORMA_ACTIVATION_IDENTITY && act != NORMA_ACTIVATION_RELU))
        return NORMA_FAIL(NORMA_CONFIG,
                          "a student is one linear layer without a pool, whose activation relu and "
                          "sum of outputs are implied");
    if (layer->n_channels_out != width || layer->n_channels_in != width)
        return NORMA_FAIL(
            NORMA_CONFIG, "the student has %lld outputs and %lld inputs, the teacher %lld of both",
            (long long)layer->n_channels_out, (long long)layer->n_channels_in, (long long)width);
    return NORMA_OK;
}

norma_status norma_teacher_create_student(int64_t width, const norma_network *student,
                                          norma_network **out)
{
    norma_network *network = NULL;
    NORMA_TRY(check_student(width, student));
    norma_status status = norma_teacher_create(width, &network);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_teacher_allocate(network));
    memcpy(network->layers[0].weight, student->layers[0].weight,
           (size_t)(width * width) * sizeof(double));
    memcpy(network->layers[0].bias, student->layers[0].bias, (size_t)width * sizeof(double));
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}
